//! Shared pieces of the text forms.
