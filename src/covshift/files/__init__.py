"""Tables in, whatever their format, and files out, whole or not at all."""
