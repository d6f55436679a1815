"""What Sup3r is compared with."""
