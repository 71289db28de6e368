import type { ToolKind } from '@parley/protocol'
import {
  ArrowRightLeft,
  Bot,
  Brain,
  FileText,
  Globe,
  ListChecks,
  type LucideIcon,
  PencilLine,
  Search,
  SquareTerminal,
  Trash2,
  Wrench,
} from 'lucide-react'

const icons: Record<ToolKind, LucideIcon> = {
  read: FileText,
  edit: PencilLine,
  delete: Trash2,
  move: ArrowRightLeft,
  search: Search,
  execute: SquareTerminal,
  fetch: Globe,
  think: Brain,
  plan: ListChecks,
  subagent: Bot,
  other: Wrench,
}

export function KindIcon({ kind, size = 14 }: { kind: ToolKind; size?: number }) {
  const Icon = icons[kind]
  return <Icon size={size} aria-hidden className="shrink-0" />
}
