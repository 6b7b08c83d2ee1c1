"""What images show, and how they look to models and to people."""
