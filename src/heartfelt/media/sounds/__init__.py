"""What can be measured of a sound: levels, pitch, speech, faults, and which recording it is."""
