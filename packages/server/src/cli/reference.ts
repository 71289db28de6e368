import { ParleyError } from '@parley/protocol'
import { nearest } from './nearest.ts'
import { oneLine } from './terminal/visible.ts'

/** The ways to refer to an entry of a list: by its id, the beginning of its id, or its name. */
export type Referable<Item> = {
  /** The noun for an entry, such as `person`. */
  readonly one: string
  readonly many: string
  readonly id: (item: Item) => string
  /** Absent if entries have no names of their own. */
  readonly name?: (item: Item) => string
  /** The command that lists the entries. */
  readonly list: string
}

const shown = 5

/** The entry that a reference names. Throws a ParleyError if the reference matches no entry or several entries. */
export function referredTo<Item>(items: readonly Item[], given: string, about: Referable<Item>): Item {
  const { one, many, id, name, list } = about
  const exact = items.find((item) => id(item) === given)
  if (exact) return exact
  const isNamed = (item: Item) => name?.(item).toLowerCase() === given.toLowerCase()
  const named = items.filter(isNamed)
  const found = named.length > 0 ? named : items.filter((item) => id(item).startsWith(given))
  const [only, ...others] = found
  if (only && others.length === 0) return only
  if (!only) {
    const near = name && nearest(given, items.map(name))
    const hint = near === undefined ? '' : ` Did you mean ${oneLine(near)}?`
    throw new ParleyError('not_found', `There is no ${one} "${given}".${hint} List them: ${list}`)
  }
  const names = found
    .slice(0, shown)
    .map((item) => (name ? `${id(item)} (${oneLine(name(item), 40)})` : id(item)))
  const more = found.length > shown ? ' and more' : ''
  throw new ParleyError(
    'conflict',
    `"${given}" names ${found.length} ${many}: ${names.join(', ')}${more}. Give more of the id.`,
  )
}
