//! Functions of a few boolean variables as tables: what elimination adds up and minimises.

use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use smallvec::SmallVec;

/// Variables, ascending.
pub(super) type Scope<'s> = BumpVec<'s, usize>;

/// A function of the variables in its scope. The bits of an index into the table say which of them are true, the first
/// variable of the scope being the lowest bit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Factor<'s> {
    pub(super) scope: Scope<'s>,
    pub(super) table: BumpVec<'s, f64>,
}

impl<'s> Factor<'s> {
    /// These variables, ascending, as a scope.
    pub(super) fn scope(variables: impl IntoIterator<Item = usize>, scratch: &'s Bump) -> Scope<'s> {
        BumpVec::from_iter_in(variables, scratch)
    }

    /// One value everywhere.
    pub(super) fn uniform(scope: Scope<'s>, value: f64) -> Factor<'s> {
        let table = bumpalo::vec![in scope.bump(); value; 1 << scope.len()];
        Factor { scope, table }
    }

    /// The value under an assignment of all variables.
    pub(super) fn at(&self, assignment: &[bool]) -> f64 {
        let bits = self.scope.iter().enumerate().map(|(bit, &variable)| usize::from(assignment[variable]) << bit);
        self.table[bits.sum::<usize>()]
    }

    /// The sum of functions over a scope that contains theirs.
    pub(super) fn sum<'a>(scope: Scope<'s>, factors: impl Iterator<Item = &'a Factor<'s>>) -> Factor<'s>
    where
        's: 'a,
    {
        let mut sum = Factor::uniform(scope, 0.0);
        for factor in factors {
            let weight = |variable: &usize| factor.scope.binary_search(variable).map_or(0, |bit| 1 << bit);
            let weights: SmallVec<[usize; 20]> = sum.scope.iter().map(weight).collect();
            // Counting up clears the bits that are set below the first one that is not, and sets that.
            let mut projected = 0;
            for (index, value) in sum.table.iter_mut().enumerate() {
                *value += factor.table[projected];
                let cleared = index.trailing_ones() as usize;
                if let Some(set) = weights.get(cleared) {
                    projected = projected + set - weights[..cleared].iter().sum::<usize>();
                }
            }
        }
        sum
    }

    /// The least values over both values of a variable of the scope.
    pub(super) fn minimize(mut self, variable: usize) -> Factor<'s> {
        let Ok(bit) = self.scope.binary_search(&variable) else { return self };
        let low = (1 << bit) - 1;
        let left = self.table.len() / 2;
        // What is read lies at or after what is written.
        for index in 0..left {
            let zero = (index & !low) << 1 | index & low;
            self.table[index] = self.table[zero].min(self.table[zero | 1 << bit]);
        }
        self.table.truncate(left);
        self.scope.remove(bit);
        self
    }

    /// The function where a further variable is true, and zero where it is false.
    pub(super) fn only_where(mut self, variable: usize) -> Factor<'s> {
        let bit = self.scope.binary_search(&variable).unwrap_or_else(|bit| {
            self.scope.insert(bit, variable);
            bit
        });
        let low = (1 << bit) - 1;
        let entry = |index: usize| match index >> bit & 1 {
            0 => 0.0,
            _ => self.table[(index >> 1) & !low | index & low],
        };
        let table = BumpVec::from_iter_in((0..1 << self.scope.len()).map(entry), self.scope.bump());
        Factor { table, scope: self.scope }
    }

    /// Lowers every value to the least one of which the true variables are among its own.
    pub(super) fn relax_to_subsets(&mut self) {
        for bit in 0..self.scope.len() {
            for index in 0..self.table.len() {
                if index >> bit & 1 == 1 {
                    self.table[index] = self.table[index].min(self.table[index & !(1 << bit)]);
                }
            }
        }
    }
}

/// The union of two ascending scopes.
pub(super) fn union<'s>(one: &Scope<'s>, other: &[usize]) -> Scope<'s> {
    let mut all = BumpVec::with_capacity_in(one.len() + other.len(), one.bump());
    all.extend_from_slice_copy(one);
    all.extend_from_slice_copy(other);
    all.sort_unstable();
    all.dedup();
    all
}
