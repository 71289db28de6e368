import { createHash, randomBytes } from 'node:crypto'
import {
  defined,
  type Invite,
  type NewInvite,
  newId,
  ParleyError,
  type Person,
  type PersonPatch,
  type Role,
} from '@parley/protocol'
import type { AccessRecord, AccessStore } from '../core/access-store.ts'
import type { Holders } from './holders.ts'
import { InviteData, ownerId, type PersonData } from './record-data.ts'

const maxPeople = 1000
const maxInvites = 100

/** The people who use this server, and the invitations of further ones. */
export class People {
  readonly #holders: Holders
  readonly #store: AccessStore

  constructor(holders: Holders, store: AccessStore) {
    this.#holders = holders
    this.#store = store
  }

  async list(): Promise<Person[]> {
    await this.#holders.load()
    return this.#holders.people().map(shownPerson)
  }

  async get(personId: string): Promise<Person> {
    await this.#holders.load()
    return shownPerson(this.#known(personId))
  }

  /** When this resolves, the connections of a disabled or changed person are closed. */
  async patch(personId: string, patch: PersonPatch): Promise<Person> {
    await this.#holders.load()
    const before = this.#known(personId)
    const { name, role, disabledAt, ...rest } = before.data as PersonData
    const at =
      patch.disabled === undefined ? disabledAt : patch.disabled ? (disabledAt ?? Date.now()) : undefined
    const data: PersonData = {
      ...rest,
      name: patch.name ?? name,
      role: patch.role ?? role,
      ...defined({ disabledAt: at }),
    }
    if (personId === ownerId && (data.role !== 'admin' || at !== undefined))
      throw new ParleyError(
        'conflict',
        'The owner of this server is always an administrator: the token of this machine is theirs.',
      )
    await this.#holders.put({ ...before, data })
    return shownPerson(this.#known(personId))
  }

  async invites(): Promise<Invite[]> {
    return (await this.#openInvites()).map(({ record, data }) => shownInvite(record, data))
  }

  /** Creates an invitation. Returns it with its code, which is not stored. */
  async invite({ role, name, lifetimeMs }: NewInvite): Promise<{ invite: Invite; code: string }> {
    if ((await this.#openInvites()).length >= maxInvites)
      throw new ParleyError(
        'conflict',
        `There are ${maxInvites} open invitations. Withdraw some of them first.`,
      )
    const code = invitePrefix + randomBytes(32).toString('base64url')
    const createdAt = Date.now()
    const data: InviteData = {
      role,
      ...defined({ name }),
      hash: hashOf(code),
      expiresAt: createdAt + lifetimeMs,
    }
    const record: AccessRecord = { kind: 'invite', id: newId('inv'), data, createdAt }
    await this.#store.putAccessRecord(record)
    return { invite: shownInvite(record, data), code }
  }

  async withdraw(inviteId: string): Promise<void> {
    if (!(await this.#store.retireAccessRecord('invite', inviteId, Date.now())))
      throw new ParleyError('not_found', `There is no open invitation ${inviteId}.`)
  }

  /**
   * Uses an invitation up and stores the new person. Undefined if the code is unknown, used or expired. Of several
   * processes that use the code, one succeeds.
   */
  async accept(code: string, name: string | undefined): Promise<Person | undefined> {
    const hash = hashOf(code)
    const found = (await this.#openInvites()).find(({ data }) => data.hash === hash)
    if (!found) return undefined
    await this.#holders.load()
    if (this.#holders.people().length >= maxPeople)
      throw new ParleyError('conflict', `There are already ${maxPeople} people.`)
    const { record, data } = found
    if (!(await this.#store.retireAccessRecord('invite', record.id, Date.now()))) return undefined
    return this.#add(name ?? data.name ?? 'A guest', data.role)
  }

  /** The person with this identity at an OpenID provider. */
  async withIdentity(issuer: string, subject: string): Promise<Person | undefined> {
    await this.#holders.load()
    const found = this.#holders
      .people()
      .find(({ data }) =>
        (data as PersonData).identities?.some((one) => one.issuer === issuer && one.subject === subject),
      )
    return found && shownPerson(found)
  }

  async #add(name: string, role: Role): Promise<Person> {
    const data: PersonData = { name, role }
    const record: AccessRecord = { kind: 'person', id: newId('per'), data, createdAt: Date.now() }
    await this.#holders.put(record)
    return shownPerson(record)
  }

  #known(personId: string): AccessRecord {
    const person = this.#holders.person(personId)
    if (person) return person
    throw new ParleyError('not_found', `There is no person ${personId}. List the people to see their ids.`)
  }

  async #openInvites(): Promise<{ record: AccessRecord; data: InviteData }[]> {
    const records = await this.#store.accessRecords()
    return records.flatMap((record) => {
      if (record.kind !== 'invite' || record.retiredAt !== undefined) return []
      const data = InviteData.safeParse(record.data).data
      return data && data.expiresAt > Date.now() ? [{ record, data }] : []
    })
  }
}

/** The first characters of an invitation's code. */
export const invitePrefix = 'invite-'

export function shownPerson({ id, data, createdAt }: AccessRecord): Person {
  const { name, role, disabledAt } = data as PersonData
  return { personId: id, name, role, createdAt, ...defined({ disabledAt }) }
}

function shownInvite({ id, createdAt }: AccessRecord, { role, name, expiresAt }: InviteData): Invite {
  return { inviteId: id, role, createdAt, expiresAt, ...defined({ name }) }
}

function hashOf(code: string): string {
  return createHash('sha256').update(code).digest('base64')
}
