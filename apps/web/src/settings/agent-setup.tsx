import type { AgentCheck, AgentInfo } from '@parley/protocol'
import { LoaderCircle } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { loadAgents } from '../base/agents.ts'
import { client } from '../base/client.ts'
import { errorText } from '../base/error-text.logic.ts'
import { visible } from '../base/format.logic.ts'
import { Button } from '../parts/button.tsx'
import { Labelled, Text } from './form-parts.tsx'

/** The setup of an agent: its API key, a test, and the removal of an agent that a person added. */
export function AgentSetup({ agent }: { agent: AgentInfo }) {
  const [problem, setProblem] = useState('')
  const [keying, setKeying] = useState(false)
  const [checks, setChecks] = useState<readonly AgentCheck[]>()
  const [testing, setTesting] = useState(false)
  const params = { id: agent.id }
  const attempt: Attempt = async (work) => {
    setProblem('')
    await work().catch((thrown: unknown) => setProblem(errorText(thrown)))
  }
  const test = () =>
    attempt(async () => {
      setTesting(true)
      setChecks(undefined)
      await client
        .call('testAgent', { params, timeoutMs: 70_000 })
        .then((reply) => setChecks(reply.checks))
        .finally(() => setTesting(false))
    })
  const forget = () => attempt(() => client.call('forgetAgent', { params }).then(loadAgents))
  const hasKey = agent.added || (agent.keys ?? []).length > 0
  return (
    <div className="flex flex-col gap-2 border-t border-line px-3 py-1.5 text-xs text-soft">
      <div className="flex flex-wrap items-center gap-2">
        <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">
          {agent.keysSet && `Set in config.json: ${agent.keysSet.join(', ')}`}
        </span>
        {agent.added && (
          <Button look="quiet" onClick={() => void forget()}>
            Forget
          </Button>
        )}
        {hasKey && (
          <Button look="quiet" aria-expanded={keying} onClick={() => setKeying(!keying)}>
            API key
          </Button>
        )}
        <Button onClick={() => void test()} disabled={testing}>
          {testing && <LoaderCircle size={14} className="animate-spin text-mark" aria-hidden />}
          {testing ? 'Testing…' : 'Test'}
        </Button>
      </div>
      {keying && <KeyForm agent={agent} attempt={attempt} onDone={() => setKeying(false)} />}
      <div aria-live="polite">{checks && <Checks checks={checks} />}</div>
      {problem !== '' && (
        <p role="alert" className="text-bad [overflow-wrap:anywhere]">
          {problem}
        </p>
      )}
    </div>
  )
}

type Attempt = (work: () => Promise<unknown>) => Promise<void>
type KeyFormProps = { agent: AgentInfo; attempt: Attempt; onDone: () => void }

function KeyForm({ agent, attempt, onDone }: KeyFormProps) {
  const { keys = [], keysSet = [] } = agent
  const [variable, setVariable] = useState(keys[0] ?? '')
  const [value, setValue] = useState('')
  const params = { id: agent.id }
  const done = () => {
    setValue('')
    onDone()
    void loadAgents()
  }
  const save = (event: FormEvent) => {
    event.preventDefault()
    void attempt(() => client.call('setAgentKey', { params, body: { variable, value } }).then(done))
  }
  const remove = () =>
    void attempt(() => client.call('removeAgentKey', { params, query: { variable } }).then(done))
  return (
    <form aria-label={`Key of ${agent.name}`} onSubmit={save} className="flex flex-col gap-2">
      <div className="grid gap-2 sm:grid-cols-2">
        <Labelled label="Variable">
          {keys.length > 0 ? (
            <select
              value={variable}
              onChange={(event) => setVariable(event.target.value)}
              className="field w-full font-mono pointer-coarse:min-h-11"
            >
              {keys.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          ) : (
            <Text value={variable} placeholder="MY_AGENT_API_KEY" first onWrite={setVariable} />
          )}
        </Labelled>
        <Labelled label="Key (stored on the server, never shown again)">
          <Text value={value} placeholder="" secret first={keys.length > 0} onWrite={setValue} />
        </Labelled>
      </div>
      <div className="flex justify-end gap-2">
        {keysSet.includes(variable) && (
          <Button look="danger" onClick={remove}>
            Remove
          </Button>
        )}
        <Button look="primary" type="submit" disabled={value.trim() === '' || variable === ''}>
          Save
        </Button>
      </div>
    </form>
  )
}

const looks = { ok: 'bg-good', info: 'bg-edge', warn: 'bg-wait-fill', fail: 'bg-bad' }
const resultNames = { ok: 'works', info: 'note', warn: 'warning', fail: 'fails' }

function Checks({ checks }: { checks: readonly AgentCheck[] }) {
  return (
    <ul className="flex flex-col gap-1 pb-1">
      {checks.map(({ name, result, text, lines = [] }) => (
        <li key={name} className="flex items-baseline gap-2">
          <span className={`size-2 shrink-0 rounded-full ${looks[result]}`} aria-hidden />
          <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">
            <span className="font-medium text-ink">{name}</span>{' '}
            <span className="sr-only">{resultNames[result]}: </span>
            {visible(text)}
            {lines.length > 0 && (
              <span className="block font-mono whitespace-pre-wrap text-faint">
                {visible(lines.join('\n'))}
              </span>
            )}
          </span>
        </li>
      ))}
    </ul>
  )
}
