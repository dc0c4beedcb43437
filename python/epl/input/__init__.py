"""What a process reads of the input: its rows of each batch, its files, and how it reads ahead."""
