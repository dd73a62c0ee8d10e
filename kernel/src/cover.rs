//! Which blocks of the log claims cover exactly once, found without sorting the claims.
//!
//! Where one claim ends and another one starts, the number of claims over a byte does not change. So if the starts and ends in a block
//! are at equal positions, each as often, and one claim reaches into the block, then exactly one claim is over each of its bytes. Sums of
//! hashes compare the positions: those of starts are added, those of ends subtracted. The hash has a random seed, so no store can be
//! written for which a sum is 0 by more than chance, which is 2^-64 a block.

use std::hash::{BuildHasher, RandomState};

/// From the first position of a claim to the one after its last.
pub type Span = (u64, u64);

/// On average at least this many claims a block, and at most this many blocks: they fit in the second cache.
const CLAIMS: usize = 8;
const MOST: usize = 1 << 16;

/// Of one block: hashes and number of the claims that start there, minus those of the claims that end there.
#[derive(Clone, Copy, Default)]
struct Balance {
    hashes: u64,
    claims: i64,
}

/// Blocks of equal size, from a first position on.
struct Blocks {
    first: u64,
    shift: u32,
    seed: u64,
    balances: Vec<Balance>,
}

impl Blocks {
    fn new(first: u64, end: u64, most: usize) -> Option<Self> {
        let last = end.checked_sub(first)?.checked_sub(1)?;
        let most = most.clamp(1, MOST) as u64;
        let shift = (0..u64::BITS).find(|&shift| last >> shift < most)?;
        let balances = vec![Balance::default(); usize::try_from(last >> shift).ok()?.checked_add(1)?];
        let mut blocks = Blocks { first, shift, seed: RandomState::new().hash_one(0), balances };
        // As if one claim ended at the first position, and one started at the end.
        blocks.count(blocks.block(first), blocks.hash(first).wrapping_neg(), -1);
        blocks.count(blocks.block(end), blocks.hash(end), 1);
        Some(blocks)
    }

    fn add(&mut self, (start, end): Span) {
        let (starts_in, ends_in) = (self.block(start), self.block(end));
        let (added, taken) = (self.hash(start), self.hash(end));
        if starts_in == ends_in {
            self.count(starts_in, added.wrapping_sub(taken), 0);
        } else {
            self.count(starts_in, added, 1);
            self.count(ends_in, taken.wrapping_neg(), -1);
        }
    }

    fn count(&mut self, block: usize, hashes: u64, claims: i64) {
        if let Some(balance) = self.balances.get_mut(block) {
            balance.hashes = balance.hashes.wrapping_add(hashes);
            balance.claims = balance.claims.wrapping_add(claims);
        }
    }

    fn block(&self, position: u64) -> usize {
        (position.wrapping_sub(self.first) >> self.shift) as usize
    }

    fn hash(&self, position: u64) -> u64 {
        let mixed = (position ^ self.seed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        mixed ^ (mixed >> 32)
    }
}

/// Which blocks have exactly one claim over each byte.
pub struct Cover {
    blocks: Blocks,
    first: u64,
    end: u64,
    /// For each block and the end: how many blocks before it are not covered so.
    others: Vec<usize>,
}

impl Cover {
    /// None if there are no claims, or one is not in `[first, end)`.
    pub fn of(claims: impl Iterator<Item = Span> + Clone, first: u64) -> Option<Self> {
        let (count, least, end) = claims
            .clone()
            .fold((0_usize, u64::MAX, 0), |(count, least, end), span| (count.wrapping_add(1), least.min(span.0), end.max(span.1)));
        if least < first {
            return None;
        }
        let mut blocks = Blocks::new(first, end, count / CLAIMS)?;
        claims.for_each(|span| blocks.add(span));
        let (mut others, mut total, mut depth) = (Vec::with_capacity(blocks.balances.len().wrapping_add(1)), 0_usize, 1_i64);
        for balance in &blocks.balances {
            others.push(total);
            let is_covered = depth == 1 && balance.claims == 0 && balance.hashes == 0;
            total = total.wrapping_add(usize::from(!is_covered));
            depth = depth.wrapping_add(balance.claims);
        }
        others.push(total);
        Some(Cover { blocks, first, end, others })
    }

    /// A number for the covered blocks that this claim is in: the same for all that follow each other. None if another block is among them.
    pub fn run(&self, (start, end): Span) -> Option<usize> {
        let before = *self.others.get(self.blocks.block(start))?;
        let after = *self.others.get(self.blocks.block(end.wrapping_sub(1)).wrapping_add(1))?;
        (before == after).then_some(before)
    }

    /// All of the blocks, if each is covered so.
    pub fn whole(&self) -> Option<Span> {
        (self.runs() == 1).then_some((self.first, self.end))
    }

    /// How many numbers `run` has.
    pub fn runs(&self) -> usize {
        self.others.last().map_or(0, |others| others.wrapping_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(claims: &[Span], first: u64) -> Vec<Option<usize>> {
        // Each claim many times over would not be covered once, so more blocks come from claims far away, which follow each other.
        let more = (0..800).map(|place| (1000 + place, 1001 + place));
        let all: Vec<_> = claims.iter().copied().chain([(900, 1000)]).chain(more).collect();
        let cover = Cover::of(all.iter().copied(), first).unwrap();
        claims.iter().map(|&claim| cover.run(claim)).collect()
    }

    #[test]
    fn claims_that_follow_each_other_cover_their_blocks() {
        assert_eq!(runs(&[(500, 900), (0, 200), (200, 500)], 0), [Some(0); 3]);
        assert!(Cover::of([(5, 9)].into_iter(), 6).is_none());
        assert!(Cover::of([].into_iter(), 6).is_none());
        assert_eq!(Cover::of([(5, 9)].into_iter(), 4).unwrap().run((5, 9)), None, "a byte before it is free");
    }

    #[test]
    fn gaps_overlaps_and_repeats_are_not_covered() {
        // Blocks have 32 bytes here.
        assert_eq!(runs(&[(0, 64), (64, 96), (100, 160), (160, 900)], 0), [Some(0), Some(0), None, Some(1)]);
        assert_eq!(runs(&[(0, 64), (64, 100), (96, 160), (160, 900)], 0), [Some(0), None, None, Some(1)]);
        assert_eq!(runs(&[(0, 64), (64, 100), (64, 100), (100, 160), (160, 900)], 0), [Some(0), None, None, None, Some(2)]);
        assert_eq!(runs(&[(0, 900), (64, 100), (100, 128)], 0), [None, None, None], "what lies over others is not covered");
    }
}
