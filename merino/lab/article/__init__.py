"""The experiment of the article on GreKo 2015 ML, repeated."""
