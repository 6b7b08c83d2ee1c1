"""One way to open any medium: sound and pictures as samples and pixels, with their containers and loudness."""
