"""Second implementations of the method: slow and simple, in float64 numpy, written from the definitions alone. They
import nothing of ``rita_demo`` but settings and records (behind a model also the model, and what is drawn at random), and
were written without reading the code that they check."""
