/**
 * The row that gets the focus after the focused row was removed or moved: the row itself if it is still in
 * the list, otherwise the next row, otherwise the previous row. Undefined if no row is left.
 */
export function neighbourOf(
  gone: string,
  before: readonly string[],
  after: readonly string[],
): string | undefined {
  const place = before.indexOf(gone)
  const nearest = [gone, ...before.slice(place + 1), ...before.slice(0, Math.max(0, place)).toReversed()]
  return nearest.find((id) => after.includes(id)) ?? after[0]
}
