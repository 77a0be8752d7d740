"""The paper's figures and tables as files: which there are, what each is drawn from, and how it is printed."""
