"""A network on a live stream of events: sessions, and a bounded queue in front of them."""
