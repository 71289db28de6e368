/** How much of a turn is told, from everything to nothing. */
export const details = ['whole', 'calls-counted', 'cut', 'one-line', 'left-out'] as const
export type Detail = (typeof details)[number]

export type TurnText = {
  text(detail: Detail): string
  /** Whether the text at this level of detail is the whole text. */
  isWhole(detail: Detail): boolean
}

/** Each step tells more of the newest turns, as long as all turns together take at most this share of the room. */
const steps: readonly (readonly [detail: Detail, share: number])[] = [
  ['whole', 0.5],
  ['calls-counted', 0.75],
  ['cut', 0.9],
  ['one-line', 1],
  // What the older turns have left over goes to the newer ones.
  ['whole', 1],
  ['calls-counted', 1],
  ['cut', 1],
]

/**
 * How much of each turn is told, so that all texts together fit into `room` characters. The older a turn, the less is
 * told of it. The newest turn is told whole unless it alone is too long; then as much as fits.
 */
export function chooseDetails(turns: readonly TurnText[], room: number): Detail[] {
  const told = turns.map((): Detail => 'left-out')
  const newest = turns.at(-1)
  if (!newest) return told
  let used = 0
  const tell = (index: number, detail: Detail, limit: number): boolean => {
    const turn = turns[index]!
    const grown = used + turn.text(detail).length - turn.text(told[index]!).length
    if (grown > limit) return false
    used = grown
    told[index] = detail
    return true
  }
  details.some((detail) => tell(turns.length - 1, detail, room))
  for (const [detail, share] of steps) {
    for (let index = turns.length - 2; index >= 0; index--) {
      const isTold = details.indexOf(told[index]!) <= details.indexOf(detail)
      if (!isTold && !tell(index, detail, share * room)) break
    }
  }
  return told
}
