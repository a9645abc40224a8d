"""Client of a media driver, of this project or of the reference: uses its cnc.dat and its log buffers.

If the driver waits on a semaphore (idle strategy `signal`), commands also post that semaphore.
"""
