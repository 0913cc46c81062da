// Karpenter-crds prints the CustomResourceDefinitions that Karpenter and its kwok provider embed, as YAML documents.
package main

import (
	"bytes"
	"os"

	kwok "sigs.k8s.io/karpenter/kwok/apis"
	"sigs.k8s.io/karpenter/pkg/apis"
)

func main() {
	documents := [][]byte{apis.NodePoolCRD, apis.NodeClaimCRD, apis.NodeOverlayCRD, kwok.KWOKNodeClassCRD}
	if _, err := os.Stdout.Write(bytes.Join(documents, []byte("\n---\n"))); err != nil {
		os.Exit(1)
	}
}
