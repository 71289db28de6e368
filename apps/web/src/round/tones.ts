import type { Told } from './round.logic.ts'

export const tones: Readonly<Record<Told['tone'], string>> = {
  plain: '',
  good: 'text-good',
  bad: 'text-bad',
  wait: 'text-wait',
}
