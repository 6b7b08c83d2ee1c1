"""MusAV: which of two music tracks has the higher arousal or valence."""
