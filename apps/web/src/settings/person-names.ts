import { type Person, visible } from '@parley/protocol'
import { client } from '../base/client.ts'
import { may } from '../base/self.ts'

/** The people of the server. Empty if this person may not list them. */
export async function listPeople(): Promise<readonly Person[]> {
  return may('admin') ? client.access.people() : []
}

/** The name to show beside an entry of another person. Undefined for the viewer's own entries. */
export function ownerName(people: readonly Person[] | undefined, personId: string): string | undefined {
  const found = people?.find((person) => person.personId === personId)
  return found && !found.current ? visible(found.name) : undefined
}
