import type { SearchHit } from '@parley/protocol'
import { Command } from 'cmdk'
import { useNow } from '../base/clock.ts'
import { navigate } from '../base/route.ts'
import { rememberHit, routeOfHit } from '../session-data/found-text.ts'
import { HitText } from '../sessions/hit-text.tsx'
import { groupLook } from './entry.tsx'
import type { PaletteCommand } from './session-commands.tsx'

const prefix = 'hit '

/** Whether the value of a palette row belongs to a message that a search found. */
export function isHit(value: string): boolean {
  return value.startsWith(prefix)
}

type Props = { hits: readonly SearchHit[]; onChoose: (command: PaletteCommand) => void }

/** The messages that contain the typed words. */
export function FoundHits({ hits, onChoose }: Props) {
  const now = useNow()
  if (hits.length === 0) return null
  const open = (hit: SearchHit) => {
    rememberHit(hit)
    navigate(routeOfHit(hit))
  }
  return (
    <Command.Group heading="In conversations" className={groupLook}>
      {hits.map((hit) => (
        <Command.Item
          key={`${hit.session.id} ${hit.seq}`}
          value={`${prefix}${hit.session.id} ${hit.seq}`}
          onSelect={() => onChoose({ label: hit.text, onSelect: () => open(hit) })}
          className="flex cursor-pointer rounded-md px-2.5 py-1.5 data-[selected=true]:bg-hover pointer-coarse:min-h-11"
        >
          <HitText hit={hit} now={now} />
        </Command.Item>
      ))}
    </Command.Group>
  )
}
