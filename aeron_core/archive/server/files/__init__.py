"""Files of an archive that is served: catalogue, segments and mark, as Aeron Archive has them."""
