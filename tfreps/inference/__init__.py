"""Objects that answer raw text: taggers, classifiers, sentence encoders, attention."""
