"""The pretrained networks: what goes in, what comes out, in their authors' conventions."""
