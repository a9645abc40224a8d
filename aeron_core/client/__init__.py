"""Client of a media driver, ours or the reference's: communicates with it through cnc.dat and log buffers.

If the driver waits on a semaphore (idle strategy `signal`), commands also post that semaphore.
"""
