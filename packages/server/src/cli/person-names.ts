import type { Client } from '@parley/client'

/**
 * Returns a function that names a person. Undefined if all entries belong to one person: the list then needs
 * no column for people. Only an administrator gets entries of other people.
 */
export async function personNames(
  client: Client,
  entries: readonly { readonly personId: string }[],
): Promise<((personId: string) => string) | undefined> {
  if (new Set(entries.map(({ personId }) => personId)).size < 2) return undefined
  const people = await client.access.people()
  return (personId) => people.find((person) => person.personId === personId)?.name ?? personId
}
