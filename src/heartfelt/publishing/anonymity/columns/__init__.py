"""What every column says about people: its role, machines, durations."""
