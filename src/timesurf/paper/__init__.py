"""What reproduces the tables and figures of the paper."""
