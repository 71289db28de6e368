import { allScopes, type NamedToken, type Scope, visible } from '@parley/protocol'
import { useState } from 'react'
import { useAgents } from '../base/agents.ts'
import { client } from '../base/client.ts'
import { useNow } from '../base/clock.ts'
import { agoInWords } from '../base/format.logic.ts'
import { may } from '../base/self.ts'
import { toast } from '../parts/toasts.tsx'
import { AddForm } from './add-form.tsx'
import { ConfirmedButton, EntryRow } from './entry-row.tsx'
import { Check, Labelled, Select } from './form-parts.tsx'
import { listPeople, ownerName } from './person-names.ts'
import { expiryText, limitsText, scopeNotes, scopesText } from './rights-text.logic.ts'
import { Section } from './section.tsx'
import { ShownOnce } from './shown-once.tsx'
import { emptyToken, lifetimes, type TokenForm, tokenOf } from './token-form.logic.ts'
import { useServerList } from './use-server-list.ts'

const listTokens = () => client.access.tokens()
type Created = NamedToken & { readonly token: string }

/** The named tokens of the person; for an administrator, those of all people. */
export default function TokensSection() {
  const { list: tokens, problem, reload, change } = useServerList(listTokens)
  const { list: people } = useServerList(listPeople)
  const [created, setCreated] = useState<Created>()
  const now = useNow()
  const revoke = ({ tokenId, name }: NamedToken) =>
    change(async () => {
      await client.access.revokeToken(tokenId)
      if (created?.tokenId === tokenId) setCreated(undefined)
      toast(`${visible(name)} is revoked.`)
    })
  return (
    <Section
      title="Tokens"
      purpose="Programs use a named token to work here on your behalf, with the scopes and within the limits that you choose. A token never permits more than you may do."
      problem={problem}
    >
      {tokens?.length === 0 && <p className="text-sm">No tokens.</p>}
      <ul className="flex flex-col gap-2">
        {tokens?.map((token) => (
          <EntryRow
            key={token.tokenId}
            label={visible(token.name)}
            facts={[
              ownerName(people, token.personId),
              scopesText(token.scopes),
              limitsText(token.limits),
              expiryText(token.expiresAt, now) ?? 'Does not expire',
              token.lastUsedAt === undefined
                ? 'Never used'
                : `Last used ${agoInWords(token.lastUsedAt, now)}`,
            ]}
            actions={
              <ConfirmedButton
                label="Revoke"
                what={visible(token.name)}
                note="Programs that use it stop working."
                onConfirm={() => revoke(token)}
              />
            }
          >
            {visible(token.name)} <span className="font-mono text-xs text-faint">…{token.hint}</span>
          </EntryRow>
        ))}
      </ul>
      {created && (
        <ShownOnce
          label={`Token ${visible(created.name)}`}
          note="Copy it now: it is not shown again. Programs send it as “Authorization: Bearer <token>”; commands read it from PARLEY_TOKEN."
          secret={created.token}
          copyLabel="Copy token"
          onDone={() => setCreated(undefined)}
        />
      )}
      <CreateToken onCreated={setCreated} onAdded={reload} />
    </Section>
  )
}

type CreateProps = { onCreated: (token: Created) => void; onAdded: () => void }

function CreateToken({ onCreated, onAdded }: CreateProps) {
  const send = (body: Parameters<typeof client.access.createToken>[0]) =>
    client.access.createToken(body).then(onCreated)
  return (
    <AddForm
      button="Create a token"
      label="New token"
      empty={emptyToken}
      read={tokenOf}
      send={send}
      onAdded={onAdded}
    >
      {({ fields, write, text }) => (
        <>
          <div className="grid gap-3 sm:grid-cols-2">
            {text('name', 'Name', 'ci', { first: true })}
            <Labelled label="Expires after">
              <Select value={fields.days} options={lifetimes} onChoose={(days) => write({ days })} />
            </Labelled>
          </div>
          <Scopes chosen={fields.scopes} onChoose={(scopes) => write({ scopes })} />
          <Folders form={fields} write={write} />
          <Agents form={fields} write={write} />
        </>
      )}
    </AddForm>
  )
}

type ScopesProps = { chosen: readonly Scope[]; onChoose: (scopes: readonly Scope[]) => void }

/** Only the scopes that the person has: nobody can give more. */
function Scopes({ chosen, onChoose }: ScopesProps) {
  return (
    <fieldset>
      <legend className="pb-1 text-xs text-soft">Scopes</legend>
      <div className="flex flex-col gap-1">
        {allScopes.filter(may).map((scope) => (
          <Check
            key={scope}
            label={`${scope}: ${scopeNotes[scope]}`}
            checked={chosen.includes(scope)}
            onChange={(checked) =>
              onChoose(checked ? [...chosen, scope] : chosen.filter((one) => one !== scope))
            }
          />
        ))}
      </div>
    </fieldset>
  )
}

type FormProps = { form: TokenForm; write: (change: Partial<TokenForm>) => void }

function Folders({ form, write }: FormProps) {
  return (
    <Labelled label="Only sessions in these folders, one per line (empty: everywhere)">
      <textarea
        value={form.folders}
        placeholder="~/project"
        rows={2}
        spellCheck={false}
        onChange={(event) => write({ folders: event.target.value })}
        className="field field-sizing-content w-full pointer-coarse:text-base"
      />
    </Labelled>
  )
}

function Agents({ form: { agents }, write }: FormProps) {
  const known = useAgents().agents
  return (
    <fieldset>
      <legend className="pb-1 text-xs text-soft">Only these agents (none chosen: every agent)</legend>
      <div className="flex flex-wrap gap-x-4 gap-y-1">
        {known.map(({ id, name }) => (
          <Check
            key={id}
            label={name}
            checked={agents.includes(id)}
            onChange={(checked) =>
              write({ agents: checked ? [...agents, id] : agents.filter((one) => one !== id) })
            }
          />
        ))}
      </div>
    </fieldset>
  )
}
