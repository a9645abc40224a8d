"""What the Lumberjack codec does with pointers and with libraries of C."""
