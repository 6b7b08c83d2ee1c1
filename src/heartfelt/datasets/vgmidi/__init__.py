"""VGMIDI: valence and arousal of video game music, traced by listeners measure by measure."""
