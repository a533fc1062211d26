//! The stems of English words: M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980.

/// A rule: a suffix and what replaces it.
type Rule = (&'static str, &'static str);

/// Step 2, where the stem before the suffix has a measure above 0.
const SECOND: &[Rule] = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("logi", "log"),
];

/// Step 3, as step 2.
const THIRD: &[Rule] =
    &[("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")];

/// Step 4, where the stem before the suffix has a measure above 1.
const FOURTH: &[&str] = &[
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
];

/// The stem of a word in lower case; other characters count as consonants. Words of up to two letters are their stems.
pub(super) fn stem(word: &str) -> String {
    if word.chars().count() <= 2 {
        return word.to_owned();
    }
    let mut word = Word(word.chars().collect());
    word.plurals();
    word.past_and_participles();
    if word.ends("y") && word.has_vowel(word.before("y")) {
        word.replace("y", "i");
    }
    word.apply(SECOND);
    word.apply(THIRD);
    word.fourth();
    word.final_letters();
    word.0.into_iter().collect()
}

struct Word(Vec<char>);

impl Word {
    /// Whether each of the first letters is a consonant. A y after a consonant is a vowel.
    fn consonants(&self, length: usize) -> impl Iterator<Item = bool> {
        self.0[..length].iter().scan(false, |last, letter| {
            *last = match letter {
                'a' | 'e' | 'i' | 'o' | 'u' => false,
                'y' => !*last,
                _ => true,
            };
            Some(*last)
        })
    }

    fn is_consonant(&self, at: usize) -> bool {
        self.consonants(at + 1).last().unwrap_or(false)
    }

    /// How many times consonants follow vowels in the first letters.
    fn measure(&self, length: usize) -> usize {
        self.consonants(length).zip(self.consonants(length).skip(1)).filter(|&(first, next)| !first && next).count()
    }

    fn has_vowel(&self, length: usize) -> bool {
        self.consonants(length).any(|is_consonant| !is_consonant)
    }

    fn ends(&self, suffix: &str) -> bool {
        let length = suffix.len();
        self.0.len() >= length && self.0[self.0.len() - length..].iter().copied().eq(suffix.chars())
    }

    /// How many letters stand before a suffix.
    fn before(&self, suffix: &str) -> usize {
        self.0.len() - suffix.len()
    }

    fn replace(&mut self, suffix: &str, new: &str) {
        self.0.truncate(self.before(suffix));
        self.0.extend(new.chars());
    }

    fn ends_in_double_consonant(&self, length: usize) -> bool {
        length >= 2 && self.0[length - 1] == self.0[length - 2] && self.is_consonant(length - 1)
    }

    /// Whether the first letters end in consonant, vowel, consonant, the last of which is no w, x or y.
    fn ends_short(&self, length: usize) -> bool {
        length >= 3
            && self.is_consonant(length - 3)
            && !self.is_consonant(length - 2)
            && self.is_consonant(length - 1)
            && !matches!(self.0[length - 1], 'w' | 'x' | 'y')
    }

    /// Step 1a.
    fn plurals(&mut self) {
        if self.ends("sses") {
            self.replace("sses", "ss");
        } else if self.ends("ies") {
            self.replace("ies", "i");
        } else if self.ends("s") && !self.ends("ss") {
            self.replace("s", "");
        }
    }

    /// Step 1b.
    fn past_and_participles(&mut self) {
        if self.ends("eed") {
            if self.measure(self.before("eed")) > 0 {
                self.replace("eed", "ee");
            }
            return;
        }
        let Some(suffix) = ["ed", "ing"].into_iter().find(|suffix| self.ends(suffix)) else { return };
        if !self.has_vowel(self.before(suffix)) {
            return;
        }
        self.replace(suffix, "");
        if ["at", "bl", "iz"].iter().any(|end| self.ends(end)) {
            self.0.push('e');
        } else if self.ends_in_double_consonant(self.0.len()) {
            if !["l", "s", "z"].iter().any(|end| self.ends(end)) {
                self.0.pop();
            }
        } else if self.measure(self.0.len()) == 1 && self.ends_short(self.0.len()) {
            self.0.push('e');
        }
    }

    /// Applies the first rule whose suffix the word has.
    fn apply(&mut self, rules: &[Rule]) {
        if let Some((suffix, new)) = rules.iter().find(|(suffix, _)| self.ends(suffix))
            && self.measure(self.before(suffix)) > 0
        {
            self.replace(suffix, new);
        }
    }

    fn fourth(&mut self) {
        let Some(suffix) = FOURTH.iter().find(|suffix| self.ends(suffix)) else { return };
        let before = self.before(suffix);
        let suits = *suffix != "ion" || (before > 0 && matches!(self.0[before - 1], 's' | 't'));
        if suits && self.measure(before) > 1 {
            self.replace(suffix, "");
        }
    }

    /// Step 5.
    fn final_letters(&mut self) {
        if self.ends("e") {
            let before = self.before("e");
            let measure = self.measure(before);
            if measure > 1 || (measure == 1 && !self.ends_short(before)) {
                self.0.pop();
            }
        }
        if self.ends("ll") && self.measure(self.0.len()) > 1 {
            self.0.pop();
        }
    }
}
