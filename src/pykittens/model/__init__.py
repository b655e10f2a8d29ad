"""The cycle model: how long machine code takes on a chip that is not there, and which guesses the answer rests on."""
