"""How a network learns from recordings: start, schedule, passes, what to do when training diverges, growth."""
