import {
  allRoles,
  type Invite,
  type NewInviteInput,
  type Person,
  type PersonPatch,
  type Role,
  visible,
} from '@parley/protocol'
import { useState } from 'react'
import { client } from '../base/client.ts'
import { useNow } from '../base/clock.ts'
import { agoInWords } from '../base/format.logic.ts'
import { useMay } from '../base/self.ts'
import { Button } from '../parts/button.tsx'
import { NeedsScope } from '../parts/needs-scope.tsx'
import { toast } from '../parts/toasts.tsx'
import { AddForm } from './add-form.tsx'
import { ConfirmedButton, EntryRow } from './entry-row.tsx'
import { Labelled, Select } from './form-parts.tsx'
import { expiryText, roleNames, roleNotes } from './rights-text.logic.ts'
import { Section } from './section.tsx'
import { ShownOnce } from './shown-once.tsx'
import { useServerList } from './use-server-list.ts'

/** The people of this server and the open invitations, for administrators. */
export default function PeopleSection() {
  if (useMay('admin'))
    return (
      <>
        <People />
        <Invitations />
      </>
    )
  return <NeedsScope what="Managing people" scope="admin" />
}

const listPeople = () => client.access.people()

function People() {
  const { list: people, problem, change } = useServerList(listPeople)
  const patch = (person: Person, body: PersonPatch) =>
    change(() => client.access.updatePerson(person.personId, body))
  return (
    <Section
      title="People"
      purpose="Everybody who uses this server, with a role. A viewer reads; a member also sends prompts; an approver also answers requests; an admin may do everything."
      problem={problem}
    >
      <ul className="flex flex-col gap-2">
        {people?.map((person) => (
          <PersonRow key={person.personId} person={person} onPatch={(body) => patch(person, body)} />
        ))}
      </ul>
    </Section>
  )
}

/** The id of the owner, to whom the token of this machine belongs. */
const ownerId = 'per_owner'

function PersonRow({ person, onPatch }: { person: Person; onPatch: (body: PersonPatch) => void }) {
  const [renaming, setRenaming] = useState(false)
  const now = useNow()
  const { personId, role, createdAt, disabledAt, current } = person
  const name = visible(person.name)
  const isFixed = personId === ownerId || current === true
  if (renaming)
    return (
      <li>
        <NameForm
          person={person}
          onDone={(next) => {
            setRenaming(false)
            if (next !== undefined) onPatch({ name: next })
          }}
        />
      </li>
    )
  return (
    <EntryRow
      label={name}
      facts={[
        isFixed && roleNames[role],
        personId === ownerId && 'Owner of this server',
        disabledAt !== undefined && 'Disabled: browsers and tokens are refused',
        `Added ${agoInWords(createdAt, now)}`,
      ]}
      actions={
        <>
          {!isFixed && (
            <span className="w-28">
              <Select
                label={`Role of ${name}`}
                value={role}
                options={allRoles.map((one) => [one, roleNames[one]])}
                onChoose={(next) => onPatch({ role: next as Role })}
              />
            </span>
          )}
          <Button aria-label={`Rename ${name}`} onClick={() => setRenaming(true)}>
            Rename
          </Button>
          {!isFixed && <DisableButton name={name} isDisabled={disabledAt !== undefined} onPatch={onPatch} />}
        </>
      }
    >
      {name}
      {current && <span className="text-soft"> (you)</span>}
    </EntryRow>
  )
}

type DisableProps = { name: string; isDisabled: boolean; onPatch: (body: PersonPatch) => void }

function DisableButton({ name, isDisabled, onPatch }: DisableProps) {
  if (isDisabled)
    return (
      <Button aria-label={`Enable ${name}`} onClick={() => onPatch({ disabled: false })}>
        Enable
      </Button>
    )
  return (
    <Button look="danger" aria-label={`Disable ${name}`} onClick={() => onPatch({ disabled: true })}>
      Disable
    </Button>
  )
}

function NameForm({ person, onDone }: { person: Person; onDone: (name: string | undefined) => void }) {
  const [name, setName] = useState(person.name)
  return (
    <form
      aria-label={`Rename ${visible(person.name)}`}
      onSubmit={(event) => {
        event.preventDefault()
        onDone(name.trim() === '' ? undefined : name.trim())
      }}
      className="flex flex-wrap items-center gap-2 rounded-lg border border-edge bg-card px-3.5 py-2"
    >
      <input
        // biome-ignore lint/a11y/noAutofocus: it appears because the person asked to rename
        autoFocus
        aria-label="Name"
        value={name}
        maxLength={100}
        onChange={(event) => setName(event.target.value)}
        onKeyDown={(event) => event.key === 'Escape' && onDone(undefined)}
        className="field min-w-0 flex-1 pointer-coarse:min-h-11 pointer-coarse:text-base"
      />
      <Button look="quiet" onClick={() => onDone(undefined)}>
        Cancel
      </Button>
      <Button look="primary" type="submit">
        Save
      </Button>
    </form>
  )
}

const listInvites = () => client.access.invites()
type Invited = Invite & { readonly url: string }
const noInvite = { role: 'member', name: '' }

function inviteOf({ role, name }: typeof noInvite): { readonly body: NewInviteInput } {
  return { body: { role: role as Role, ...(name.trim() !== '' && { name: name.trim() }) } }
}

function Invitations() {
  const { list: invites, reload, change } = useServerList(listInvites)
  const [invited, setInvited] = useState<Invited>()
  const now = useNow()
  const withdraw = ({ inviteId }: Invite) =>
    change(async () => {
      await client.access.withdrawInvite(inviteId)
      if (invited?.inviteId === inviteId) setInvited(undefined)
      toast('The invitation is withdrawn.')
    })
  const send = (body: NewInviteInput) => client.access.invite(body).then(setInvited)
  return (
    <Section
      title="Invitations"
      purpose="The link of an invitation works once, and signs in the first browser of a new person."
    >
      {invites?.length === 0 && <p className="text-sm">No open invitations.</p>}
      <ul className="flex flex-col gap-2">
        {invites?.map((invite) => {
          const who = visible(invite.name ?? 'A new person')
          return (
            <EntryRow
              key={invite.inviteId}
              label={who}
              facts={[roleNames[invite.role], expiryText(invite.expiresAt, now)]}
              actions={
                <ConfirmedButton
                  label="Withdraw"
                  what={`the invitation of ${who}`}
                  note="Its link stops working."
                  onConfirm={() => withdraw(invite)}
                />
              }
            >
              {who}
            </EntryRow>
          )
        })}
      </ul>
      {invited && (
        <ShownOnce
          label={`Invitation for ${visible(invited.name ?? 'a new person')}`}
          note="Copy the link now and send it to the person: it is not shown again."
          secret={invited.url}
          copyLabel="Copy link"
          onDone={() => setInvited(undefined)}
        />
      )}
      <AddForm
        button="Invite a person"
        label="New invitation"
        empty={noInvite}
        read={inviteOf}
        send={send}
        onAdded={reload}
      >
        {({ fields, write, text }) => (
          <div className="grid gap-3 sm:grid-cols-2">
            {text('name', 'Name (a note for you; the person enters their own)', 'Ana', { first: true })}
            <Labelled label="Role">
              <Select
                value={fields.role}
                options={allRoles.map((role) => [role, roleNotes[role]])}
                onChoose={(role) => write({ role })}
              />
            </Labelled>
          </div>
        )}
      </AddForm>
    </Section>
  )
}
