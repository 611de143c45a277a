package provider

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// programs caches compiled queries, because all tenants have the same few.
var programs sync.Map

// ready evaluates the query of an Object's readiness.
func ready(query string, object map[string]any) (bool, error) {
	program, err := compile(query)
	if err != nil {
		return false, err
	}
	value, _, err := program.Eval(map[string]any{"object": object})
	if err != nil {
		return false, fmt.Errorf("failed to eval the program: %w", err)
	}
	return value == types.True, nil
}

func compile(query string) (cel.Program, error) {
	if p, ok := programs.Load(query); ok {
		return p.(cel.Program), nil //nolint:forcetypeassert // It is stored below.
	}
	env, err := cel.NewEnv(cel.Variable("object", cel.AnyType))
	if err != nil {
		return nil, fmt.Errorf("failed to create environment: %w", err)
	}
	ast, issues := env.Compile(query)
	if issues.Err() != nil {
		return nil, fmt.Errorf("failed to compile query: %w", issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		return nil, fmt.Errorf("failed to create program from the cel query: %w", err)
	}
	programs.Store(query, program)
	return program, nil
}
