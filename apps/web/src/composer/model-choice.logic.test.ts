import type { AgentModel } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { chosenModel, effortName, effortsOf } from './model-choice.logic.ts'

const models: readonly AgentModel[] = [
  { id: 'default', name: 'Default', isDefault: true, resolvesTo: 'large-5', efforts: ['low', 'high'] },
  { id: 'large', name: 'Large', resolvesTo: 'large-5', efforts: ['low', 'high'] },
  { id: 'small', name: 'Small', resolvesTo: 'small-4' },
]
const session = (requested?: string, running?: string) => ({
  requested: requested === undefined ? {} : { model: requested },
  effective: running === undefined ? {} : { model: running },
  running,
})

describe('the model of a session', () => {
  it('keeps its name when the first turn starts', () => {
    expect(chosenModel(models, session())).toBe('default')
    expect(chosenModel(models, session(undefined, 'large-5'))).toBe('default')
    expect(chosenModel(models, session('large', 'large-5'))).toBe('large')
    expect(chosenModel(models, session(undefined, 'small-4'))).toBe('small')
    expect(chosenModel(models, session(undefined, 'small'))).toBe('small')
  })

  it('is the default if the running model is not listed, and the running model if there is no list', () => {
    expect(chosenModel(models, session(undefined, 'something-9'))).toBe('default')
    expect(chosenModel([], session(undefined, 'something-9'))).toBe('something-9')
    expect(chosenModel([], session())).toBe('')
  })

  it('has its efforts under each of its names', () => {
    for (const name of ['default', 'large', 'large-5', ''])
      expect(effortsOf(models, name)).toEqual(['low', 'high'])
    expect(effortsOf(models, 'small')).toEqual([])
  })

  it('has efforts with readable names', () => {
    expect(['low', 'xhigh'].map(effortName)).toEqual(['Low', 'Extra high'])
  })
})
