import { GitFork, RotateCcw, Undo2 } from 'lucide-react'
import { useAgent } from '../base/agents.ts'
import { useMay } from '../base/self.ts'
import type { OpenMenu } from '../parts/menu.tsx'
import MenuList, { type MenuEntry } from '../parts/menu-list.tsx'
import { useSessionState } from '../session-data/session-context.tsx'

type Props = OpenMenu & {
  isTakenBack: boolean
  onFork: () => void
  onRewind: () => void
  onRestore: () => void
}

/** The actions that go back to a prompt. Each opens a dialog that lists what happens. */
export default function PromptMenu({ isTakenBack, onFork, onRewind, onRestore, ...menu }: Props) {
  const can = useAgent(useSessionState((state) => state.agent))?.capabilities
  const prompts = useMay('prompt')
  const decides = useMay('decide') && !isTakenBack
  const entries: (MenuEntry | false | undefined)[] = [
    can?.forkBefore && prompts && { label: 'Fork from here…', icon: GitFork, onSelect: onFork },
    can?.forkBefore && decides && { label: 'Rewind conversation to here…', icon: Undo2, onSelect: onRewind },
    can?.rewind && decides && { label: 'Restore files to here…', icon: RotateCcw, onSelect: onRestore },
  ]
  return <MenuList {...menu} entries={entries.filter((entry) => entry !== false && entry !== undefined)} />
}
