//! Fuseline's oracle: a plain HOP evaluator, and a Backend that interprets CPlans tile-wise.
