//! Sets of groups against sets of the standard library.

use crate::select::entry::Member;
use crate::select::exact::group_set::GroupSet;
use cranelift_entity::EntityRef;
use std::collections::BTreeSet;

/// On both sides of the borders of words, and far apart.
const GROUPS: [usize; 7] = [0, 1, 63, 64, 127, 128, 700];

fn subsets() -> Vec<BTreeSet<Member>> {
    let subset = |bits: u32| {
        (0..GROUPS.len()).filter(move |number| bits >> number & 1 == 1).map(|number| Member::new(GROUPS[number]))
    };
    (0..1 << GROUPS.len()).map(|bits| subset(bits).collect()).collect()
}

fn of(groups: &BTreeSet<Member>) -> GroupSet {
    groups.iter().copied().collect()
}

#[test]
fn sets_of_groups_are_those_of_the_standard_library() {
    for one in subsets() {
        let set = of(&one);
        assert_eq!(set.iter().collect::<BTreeSet<_>>(), one);
        assert!(set.iter().is_sorted());
        assert_eq!((set.len(), set.is_empty()), (one.len(), one.is_empty()));
        assert_eq!(one.iter().rev().copied().collect::<GroupSet>(), set, "in descending order");
        for group in (0..130).chain([699, 700, 701, 100_000]).map(Member::new) {
            assert_eq!(set.contains(group), one.contains(&group));
            assert_eq!(set.after(group), of(&one.range(Member::new(group.index() + 1)..).copied().collect()));
            let (mut larger, mut expected) = (set.clone(), one.clone());
            assert_eq!(larger.insert(group), expected.insert(group));
            assert_eq!(larger, of(&expected));
        }
        for other in subsets() {
            let others = of(&other);
            assert_eq!(set.is_subset(&others), one.is_subset(&other), "{one:?} {other:?}");
            assert_eq!(set == others, one == other);
            assert_eq!(set.union(&others), of(&(&one | &other)));
            assert_eq!(set.within(&others), of(&(&one & &other)));
            assert_eq!(set.without(&others), of(&(&one - &other)));
        }
    }
}
