import { createHash, randomBytes } from 'node:crypto'
import {
  defined,
  type Invite,
  invitePrefix,
  type NewInvite,
  newId,
  ParleyError,
  type Person,
  type PersonPatch,
} from '@parley/protocol'
import type { AccessRecord, AccessStore } from '../core/access-store.ts'
import type { Holders } from './holders.ts'
import { type Identity, InviteData, ownerId, type PersonData } from './record-data.ts'

export { invitePrefix }

const maxPeople = 1000
const maxInvites = 100

/** The data about an invited person that is known when the person accepts. */
export type Guest = {
  /** The name that the person chose. */
  readonly name?: string | undefined
  /** The name of the person's account, which is used if the person chose no name. */
  readonly suggested?: string | undefined
  readonly identity?: Identity
}

/** The people who use this server, and the invitations of further people. */
export class People {
  readonly #holders: Holders
  readonly #store: AccessStore
  #changing: Promise<unknown> = Promise.resolve()

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
  patch(personId: string, patch: PersonPatch): Promise<Person> {
    return this.#alone(async () => {
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
          'The owner of this server is always an administrator, because the token of this machine belongs to the owner.',
        )
      this.#expectFreeName(data.name, personId)
      await this.#holders.put({ ...before, data })
      return shownPerson(this.#known(personId))
    })
  }

  async invites(): Promise<Invite[]> {
    return (await this.#openInvites()).map(({ record, data }) => shownInvite(record, data))
  }

  /** Creates an invitation. Returns it with its code, which is not stored. */
  async invite({ role, name, lifetimeMs }: NewInvite): Promise<{ invite: Invite; code: string }> {
    const open = await this.#openInvites()
    if (open.length >= maxInvites)
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
    if (!(await this.#store.removeAccessRecord('invite', inviteId)))
      throw new ParleyError('not_found', `There is no open invitation ${inviteId}.`)
  }

  /**
   * Uses up an invitation and stores the new person. Undefined if the code is unknown, used or expired. If several
   * processes use the code, one of them succeeds.
   */
  accept(code: string, { name, suggested, identity }: Guest = {}): Promise<Person | undefined> {
    return this.#alone(async () => {
      const hash = hashOf(code)
      const found = (await this.#openInvites()).find(({ data }) => data.hash === hash)
      if (!found) return undefined
      if (this.#holders.people().length >= maxPeople)
        throw new ParleyError('conflict', `There are already ${maxPeople} people.`)
      if (identity && this.#holders.people().some((person) => hasIdentity(person, identity)))
        throw new ParleyError('conflict', 'A person of this server already signs in with that account.')
      const { record, data } = found
      const given = name ?? suggested ?? data.name ?? 'Guest'
      // The name that a person chose must be free. A suggested name gets a number if it is taken.
      if (name !== undefined) this.#expectFreeName(name)
      if (!(await this.#store.removeAccessRecord('invite', record.id))) return undefined
      const about: PersonData = { name: this.#freeName(given), role: data.role }
      const person: AccessRecord = {
        kind: 'person',
        id: newId('per'),
        data: { ...about, ...(identity && { identities: [identity] }) },
        createdAt: Date.now(),
      }
      await this.#holders.put(person)
      return shownPerson(person)
    })
  }

  /** The person with this identity at an OpenID provider; undefined if there is none or the person is disabled. */
  async withIdentity(identity: Identity): Promise<Person | undefined> {
    await this.#holders.upToDate()
    const found = this.#holders.people().find((person) => hasIdentity(person, identity))
    return found && (found.data as PersonData).disabledAt === undefined ? shownPerson(found) : undefined
  }

  /** Adds an identity to a person. Rejects with ParleyError `conflict` if another person has it. */
  addIdentity(personId: string, identity: Identity): Promise<void> {
    return this.#alone(async () => {
      const holder = this.#holders.people().find((person) => hasIdentity(person, identity))
      if (holder?.id === personId) return
      if (holder)
        throw new ParleyError('conflict', 'Another person of this server signs in with that account.')
      const person = this.#known(personId)
      const { identities = [] } = person.data as PersonData
      await this.#holders.put({ ...person, data: { ...person.data, identities: [...identities, identity] } })
    })
  }

  /** Performs changes one after another. Each change starts from the stored records. */
  #alone<Result>(change: () => Promise<Result>): Promise<Result> {
    const done = this.#changing.then(async () => {
      await this.#holders.reload()
      return change()
    })
    this.#changing = done.catch(() => undefined)
    return done
  }

  /** Names are shown beside decisions, so no two people have the same name. */
  #expectFreeName(name: string, except?: string): void {
    if (this.#isFree(name, except)) return
    throw new ParleyError('conflict', `There is already a person with the name ${name}. Choose another name.`)
  }

  #isFree(name: string, except?: string): boolean {
    const others = this.#holders.people().filter(({ id }) => id !== except)
    return !others.some(({ data }) => comparable((data as PersonData).name) === comparable(name))
  }

  #freeName(name: string): string {
    let free = name
    for (let number = 2; !this.#isFree(free); number++) free = `${name} ${number}`
    return free
  }

  #known(personId: string): AccessRecord {
    const person = this.#holders.person(personId)
    if (person) return person
    throw new ParleyError('not_found', `There is no person ${personId}. List the people to see their ids.`)
  }

  /** Returns the invitations that have not expired, and removes the expired ones. */
  async #openInvites(): Promise<{ record: AccessRecord; data: InviteData }[]> {
    const open: { record: AccessRecord; data: InviteData }[] = []
    for (const record of await this.#store.accessRecords()) {
      if (record.kind !== 'invite') continue
      const data = InviteData.safeParse(record.data).data
      if (data && data.expiresAt > Date.now()) open.push({ record, data })
      else await this.#store.removeAccessRecord('invite', record.id)
    }
    return open
  }
}

export function shownPerson({ id, data, createdAt }: AccessRecord): Person {
  const { name, role, disabledAt } = data as PersonData
  return { personId: id, name, role, createdAt, ...defined({ disabledAt }) }
}

function shownInvite({ id, createdAt }: AccessRecord, { role, name, expiresAt }: InviteData): Invite {
  return { inviteId: id, role, createdAt, expiresAt, ...defined({ name }) }
}

function hasIdentity({ data }: AccessRecord, { issuer, subject }: Identity): boolean {
  const { identities = [] } = data as PersonData
  return identities.some((one) => one.issuer === issuer && one.subject === subject)
}

function comparable(name: string): string {
  return name.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ')
}

function hashOf(code: string): string {
  return createHash('sha256').update(code).digest('base64')
}
