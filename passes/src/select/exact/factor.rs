//! Functions of a few boolean variables as tables: what elimination adds up and minimises.

/// A function of the variables in its scope. The bits of an index into the table say which of them are true, the first
/// variable of the scope being the lowest bit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Factor {
    /// Ascending.
    pub(super) scope: Vec<usize>,
    pub(super) table: Vec<f64>,
}

impl Factor {
    /// The same value everywhere.
    pub(super) fn uniform(scope: Vec<usize>, value: f64) -> Factor {
        let table = vec![value; 1 << scope.len()];
        Factor { scope, table }
    }

    /// The value under an assignment of all variables.
    pub(super) fn at(&self, assignment: &[bool]) -> f64 {
        let bits = self.scope.iter().enumerate().map(|(bit, &variable)| usize::from(assignment[variable]) << bit);
        self.table[bits.sum::<usize>()]
    }

    /// The sum of functions over a scope that contains theirs.
    pub(super) fn sum<'a>(scope: Vec<usize>, factors: impl Iterator<Item = &'a Factor>) -> Factor {
        let mut sum = Factor::uniform(scope, 0.0);
        for factor in factors {
            let weights: Vec<usize> = sum
                .scope
                .iter()
                .map(|variable| factor.scope.binary_search(variable).map_or(0, |bit| 1 << bit))
                .collect();
            let mut projected = vec![0; sum.table.len()];
            for index in 1..projected.len() {
                let rest: usize = index & (index - 1);
                projected[index] = projected[rest] | weights[index.trailing_zeros() as usize];
            }
            for (value, &index) in sum.table.iter_mut().zip(&projected) {
                *value += factor.table[index];
            }
        }
        sum
    }

    /// The least values over both values of a variable of the scope.
    pub(super) fn minimize(mut self, variable: usize) -> Factor {
        let Ok(bit) = self.scope.binary_search(&variable) else { return self };
        let low = (1 << bit) - 1;
        let entry = |index: usize| {
            let zero = (index & !low) << 1 | index & low;
            self.table[zero].min(self.table[zero | 1 << bit])
        };
        let table = (0..self.table.len() / 2).map(entry).collect();
        self.scope.remove(bit);
        Factor { scope: self.scope, table }
    }

    /// The function where a further variable is true, and zero where it is false.
    pub(super) fn only_where(self, variable: usize) -> Factor {
        let scope = union(&self.scope, &[variable]);
        let bit = scope.binary_search(&variable).unwrap_or(0);
        let low = (1 << bit) - 1;
        let entry = |index: usize| match index >> bit & 1 {
            0 => 0.0,
            _ => self.table[(index >> 1) & !low | index & low],
        };
        Factor { table: (0..1 << scope.len()).map(entry).collect(), scope }
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
pub(super) fn union(one: &[usize], other: &[usize]) -> Vec<usize> {
    let mut all = [one, other].concat();
    all.sort_unstable();
    all.dedup();
    all
}
