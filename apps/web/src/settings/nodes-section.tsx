import type { DatabaseInfo, NodeInfo, NodeList } from '@parley/protocol'
import { type ReactNode, useEffect, useState } from 'react'
import { client } from '../base/client.ts'
import { useNow } from '../base/clock.ts'
import { errorText } from '../base/error-text.logic.ts'
import { agoInWords, duration, visible } from '../base/format.logic.ts'
import { Button } from '../parts/button.tsx'
import { checkProblems } from './node-check.logic.ts'
import { Section } from './section.tsx'

const refreshMs = 2_000

/** The servers on the same database, loaded again while the section is shown. */
export function NodesSection() {
  const { list, error } = useLiveNodes()
  const { checked, isChecking, check } = useCheck()
  const nodes = list?.nodes ?? []
  return (
    <Section
      title="Nodes"
      purpose="The Parley servers that share this server’s database. Each runs the sessions whose folders are on its machine."
      beside={
        list?.database && (
          <Button onClick={check} disabled={isChecking}>
            {isChecking ? 'Checking…' : 'Check connections'}
          </Button>
        )
      }
    >
      {error !== undefined && (
        <p role="status" className="pb-3 text-sm text-bad">
          {error}
        </p>
      )}
      <ul className={`flex flex-col gap-2 ${error === undefined ? '' : 'opacity-60'}`}>
        {nodes.map((node) => (
          <NodeCard
            key={node.id}
            node={node}
            nodes={nodes}
            checked={checked?.nodes.find(({ id }) => id === node.id)}
          />
        ))}
      </ul>
      {list && <DatabaseLine database={list.database} />}
    </Section>
  )
}

function useLiveNodes(): { list: NodeList | undefined; error: string | undefined } {
  const [list, setList] = useState<NodeList>()
  const [error, setError] = useState<string>()
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    let timer: ReturnType<typeof setTimeout> | undefined
    const load = async () => {
      try {
        if (!document.hidden) setList(await client.call('listNodes', { signal }))
        setError(undefined)
      } catch (thrown) {
        if (!signal.aborted) setError(errorText(thrown))
      }
      if (!signal.aborted) timer = setTimeout(() => void load(), refreshMs)
    }
    void load()
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [])
  return { list, error }
}

/** `check` lets every node send a request to every other node; `checked` is the result. */
function useCheck() {
  const [checked, setChecked] = useState<NodeList>()
  const [isChecking, setChecking] = useState(false)
  const check = () => {
    setChecking(true)
    client
      .call('listNodes', { query: { check: 'all' } })
      .then(setChecked, () => setChecked(undefined))
      .finally(() => setChecking(false))
  }
  return { checked, isChecking, check }
}

type NodeCardProps = {
  readonly node: NodeInfo
  readonly nodes: readonly NodeInfo[]
  readonly checked: NodeInfo | undefined
}

function NodeCard({ node, nodes, checked }: NodeCardProps) {
  const now = useNow()
  const { state, sessions, leaseAgeMs, databaseLatencyMs } = node
  const isGone = state === 'gone'
  const others = new Set(nodes.filter((one) => one.state !== 'gone').map(({ version }) => version))
  return (
    <li className="rounded-lg border border-line bg-card px-3.5 py-2.5 text-sm">
      <h3 className="flex flex-wrap items-baseline gap-x-2 font-semibold">
        <span className="[overflow-wrap:anywhere]">{visible(node.machine)}</span>
        {node.isSelf && <span className="font-normal text-soft">(this page’s server)</span>}
        <span className={`ml-auto font-normal ${stateColours[state]}`}>{stateNames[state]}</span>
      </h3>
      <p className="text-xs [overflow-wrap:anywhere] text-faint">{visible(node.url)}</p>
      {isGone ? (
        <p className="pt-1 text-xs text-soft">{goneText(node, nodes)}</p>
      ) : (
        <dl className="flex flex-wrap gap-x-5 gap-y-1 pt-1.5 text-xs">
          {sessions !== undefined && <Figure name="Sessions">{sessions}</Figure>}
          {leaseAgeMs !== undefined && <Figure name="Last seen">{duration(leaseAgeMs)} ago</Figure>}
          {databaseLatencyMs !== undefined && (
            <Figure name="PostgreSQL">{milliseconds(databaseLatencyMs)}</Figure>
          )}
          <Figure name="Version">
            {visible(node.version)}
            {others.size > 1 && <span className="text-wait"> (others differ)</span>}
          </Figure>
          <Figure name="Started">{agoInWords(node.startedAt, now)}</Figure>
        </dl>
      )}
      {checked && !isGone && <CheckLine checked={checked} nodes={nodes} />}
    </li>
  )
}

const stateNames = { alive: 'Running', expired: 'Not answering', gone: 'Gone' }
const stateColours = { alive: 'text-good', expired: 'text-bad', gone: 'text-faint' }

function goneText({ place, machine }: NodeInfo, nodes: readonly NodeInfo[]): string {
  const isAway = !nodes.some((one) => one.place === place && one.state !== 'gone')
  if (!isAway) return 'Stopped or replaced. Other nodes on this machine run its sessions.'
  return `No server runs on ${visible(machine)} now. Its sessions can be read and answered, and continue when a server runs there again.`
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex gap-1.5">
      <dt className="text-faint">{name}</dt>
      <dd className="tabular-nums">{children}</dd>
    </div>
  )
}

function CheckLine({ checked, nodes }: { checked: NodeInfo; nodes: readonly NodeInfo[] }) {
  const lines = checkProblems(checked, nodes)
  return (
    <div role="status" className="pt-1.5 text-xs">
      {lines.length === 0 && <p className="text-good">The node answers and reaches all other nodes.</p>}
      {lines.map((line) => (
        <p key={line} className="text-bad [overflow-wrap:anywhere]">
          {line}
        </p>
      ))}
    </div>
  )
}

function DatabaseLine({ database }: { database: DatabaseInfo | undefined }) {
  if (!database)
    return (
      <p className="pt-3 text-xs text-pretty text-soft">
        This server keeps everything in SQLite, so it is the only one. With a PostgreSQL database, several
        servers can share their sessions.
      </p>
    )
  const skew = Math.round(Math.abs(database.clockSkewMs))
  return (
    <p className="pt-3 text-xs text-soft">
      PostgreSQL {visible(database.version)} answers this server in {milliseconds(database.latencyMs)}.
      {skew >= 1_000 && (
        <span className="text-wait">
          {' '}
          Its clock and this server’s clock differ by {duration(skew)}: synchronise them.
        </span>
      )}
    </p>
  )
}

function milliseconds(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : duration(ms)
}
