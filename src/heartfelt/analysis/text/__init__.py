"""What an analysis says in words: the verdict, and the methods and results of a paper."""
