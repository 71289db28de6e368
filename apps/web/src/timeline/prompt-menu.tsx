import { GitFork, Undo2 } from 'lucide-react'
import { useAgent } from '../base/agents.ts'
import { useMay } from '../base/self.ts'
import type { OpenMenu } from '../parts/menu.tsx'
import MenuList, { type MenuEntry } from '../parts/menu-list.tsx'
import { useSessionState } from '../session-data/session-context.tsx'

type Props = OpenMenu & {
  onFork: () => void
  onGoBack: () => void
}

/**
 * The menu entries that fork the session before a prompt or rewind it. Each opens a dialog that lists the
 * effects.
 */
export default function PromptMenu({ onFork, onGoBack, ...menu }: Props) {
  const can = useAgent(useSessionState((state) => state.agent))?.capabilities
  const prompts = useMay('prompt')
  const decides = useMay('decide')
  const entries: (MenuEntry | false | undefined)[] = [
    can?.forkBefore && prompts && { label: 'Fork from here…', icon: GitFork, onSelect: onFork },
    decides && { label: 'Go back to here…', icon: Undo2, onSelect: onGoBack },
  ]
  return <MenuList {...menu} entries={entries.filter((entry) => entry !== false && entry !== undefined)} />
}
