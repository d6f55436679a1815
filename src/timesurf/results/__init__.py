"""What a network leaves for people: the folder of a training run, tables of decisions."""
