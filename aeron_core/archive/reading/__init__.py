"""Archives of Aeron Archive that are read through the control protocol, with the interface of a local folder."""
