import { type Person, visible } from '@parley/protocol'
import { client } from '../base/client.ts'
import { may } from '../base/self.ts'

/** The people of the server; none for those who may not list them. */
export async function listPeople(): Promise<readonly Person[]> {
  return may('admin') ? client.access.people() : []
}

/** Names another person. What belongs to the person who looks at the page needs no name. */
export function ownerName(people: readonly Person[] | undefined, personId: string): string | undefined {
  const found = people?.find((person) => person.personId === personId)
  return found && !found.current ? visible(found.name) : undefined
}
