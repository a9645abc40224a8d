"""Client commands: their dispatch, clients and the resources that they own, rejections of images."""
